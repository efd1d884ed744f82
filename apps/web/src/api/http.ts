import { learnTime } from "./clock";
import { keyStore, wantKey } from "./key";

/** `fetch` with the API key, if there is one. A 401 opens the key dialog. */
export const apiFetch: typeof fetch = async (input, init) => {
  const { key } = keyStore.read();
  const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(input, { ...init, headers });
  learnTime(response);
  if (response.status === 401) wantKey();
  return response;
};

/** A non-2xx response, with a user-facing message. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export async function getJson<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await apiFetch(path, init);
  if (!response.ok) throw await refusalOf(response);
  return (await response.json()) as T;
}

export async function refusalOf(response: Response): Promise<ApiError> {
  return new ApiError(response.status, await reasonOf(response));
}

async function reasonOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null) {
      for (const name of ["reason", "error", "message"]) {
        const value: unknown = Reflect.get(body, name);
        if (typeof value === "string" && value !== "") return value;
      }
    }
  } catch {
    // Not JSON: fall back to the status.
  }
  return text !== "" && text.length < 200 ? text : `The server answered ${response.status}`;
}
