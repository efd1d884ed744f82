// A browser with a camera and a location: tools that only the client can run.

export const config = `
[tools.take_photo]
execution = "frontend"
description = "Takes a photo with the user's camera"
input_schema = { type = "object", properties = { facing = { enum = ["user", "environment"] } } }

[tools.take_quick_photo]
execution = "frontend"
description = "Takes a photo, but does not wait for long"
timeout_sec = 1
input_schema = { type = "object", properties = {} }
`;

export const PHOTO = { width: 4, height: 3 };
export const HERE = { latitude: 35, longitude: 135.7, accuracy: 10 };

/** The SDK's pattern for browser tools: the output is added, not awaited, and the predicates send it. */
export const takesPhotos = ({ toolName, toolCallId }, { chat }) => {
  if (toolName === "take_photo") chat.addToolOutput({ tool: toolName, toolCallId, output: PHOTO });
};

export const locates = ({ toolName, toolCallId }, { chat }) => {
  if (toolName === "get_location") chat.addToolOutput({ tool: toolName, toolCallId, output: HERE });
};

export const firstCall = (client) => client.until("the browser is asked", () => client.toolCalls[0]);
