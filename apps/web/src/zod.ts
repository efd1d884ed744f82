import { config } from "zod/v4/core";

// The SDK validates chunks with zod, which tests whether it may compile code. The page's CSP forbids that, and the
// browser would report the attempt.
config({ jitless: true });
