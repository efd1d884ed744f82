import { config } from "zod";

// The SDK checks chunks with zod, which tries whether it may compile code. Under the page's content security policy it may
// not, and the browser would report the attempt.
config({ jitless: true });
