// Whether both versions of the SDK accept a history.

import { safeValidateUIMessages as validate6 } from "ai6";
import { safeValidateUIMessages as validate7 } from "ai7";

/** Returns `[{sdk, error}]`: which version refuses it, and why. */
export async function refusals(messages) {
  const refused = [];
  // A chat whose first message is still being written has no messages, so there is nothing to refuse.
  if (messages.length === 0) return refused;
  for (const [sdk, validate] of Object.entries({ ai6: validate6, ai7: validate7 })) {
    const result = await validate({ messages: structuredClone(messages) });
    if (!result.success) refused.push({ sdk, error: String(result.error).slice(0, 2000) });
  }
  return refused;
}
