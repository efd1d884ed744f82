import type { $ZodConfig } from "zod/v4/core";

// The SDK validates chunks with zod, which tests whether it may compile code. The page's CSP forbids that, and the
// browser would report the attempt. This is where zod looks for its settings: the SDK is loaded later, if at all.
(globalThis as { __zod_globalConfig?: $ZodConfig }).__zod_globalConfig = { jitless: true };
