import { nextApp } from "./nextjs";
import { playOwnScenarios } from "./nextjs-scenarios";
import { playQuorum } from "./support/quorum";
import { playScenarios } from "./support/scenarios";

/** As shipped. */
playScenarios(nextApp("nextjs"));
playOwnScenarios();
playQuorum();
