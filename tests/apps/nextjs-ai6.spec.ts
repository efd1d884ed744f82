import { nextApp } from "./nextjs";
import { playOwnScenarios } from "./nextjs-scenarios";
import { playScenarios } from "./support/scenarios";

/** The same source with the version before. */
playScenarios(nextApp("nextjs-ai6", { ai: "6.0.326", "@ai-sdk/react": "3.0.322" }));
playOwnScenarios();
