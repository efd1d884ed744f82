import { config } from "zod/v4/core";

// The SDK checks chunks with zod, which tries whether it may compile code. Under the page's content security policy it may
// not, and the browser would report the attempt.
config({ jitless: true });
