import { createHoldpoint } from "holdpoint";

/** The Holdpoint server, for the browser: requests go to this app, which adds the key. See proxy.ts. */
export const holdpoint = createHoldpoint();
