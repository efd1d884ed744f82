import { CreditCard } from "lucide-react";
import type { CardEntry } from "../cardEntry";

export default { tool: "process_payment", icon: CreditCard } satisfies CardEntry;
