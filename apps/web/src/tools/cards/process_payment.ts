import { CreditCard } from "lucide-react";
import { isObject } from "../../prompt/isObject";
import type { CardEntry } from "../cardEntry";

export default {
  tool: "process_payment",
  icon: CreditCard,
  headline: (input) => {
    if (!isObject(input)) return undefined;
    const { amount, currency, recipient } = input;
    if (typeof amount !== "number" || typeof currency !== "string" || typeof recipient !== "string") return undefined;
    return `Pay ${amount} ${currency} to ${recipient}`;
  },
} satisfies CardEntry;
