import { Database } from "lucide-react";
import type { CardEntry } from "../cardEntry";

export default { tool: "search_database", icon: Database } satisfies CardEntry;
