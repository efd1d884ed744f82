import { DatabaseZap } from "lucide-react";
import type { CardEntry } from "../cardEntry";

export default { tool: "update_database", icon: DatabaseZap } satisfies CardEntry;
