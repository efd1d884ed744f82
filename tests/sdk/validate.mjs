// Runs `validateUIMessages` of the AI SDK, versions 6 and 7, over histories. Reads {"histories": [UIMessage[], ...]} on
// stdin, writes {"checked": N, "refused": [{sdk, history, error}]} on stdout.

import { text } from "node:stream/consumers";
import { safeValidateUIMessages as validate6 } from "ai6";
import { safeValidateUIMessages as validate7 } from "ai7";

// Nothing but the result may reach stdout.
for (const name of ["log", "info", "debug"]) console[name] = console.error;

const { histories } = JSON.parse(await text(process.stdin));
const refused = [];
let checked = 0;
for (const history of histories) {
  for (const [sdk, validate] of Object.entries({ ai6: validate6, ai7: validate7 })) {
    const result = await validate({ messages: structuredClone(history) });
    checked += 1;
    if (!result.success) refused.push({ sdk, history, error: String(result.error).slice(0, 2000) });
  }
}
process.stdout.write(JSON.stringify({ checked, refused }));
