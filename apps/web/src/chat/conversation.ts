// What is loaded for a chat that has messages.
export { PagesPanel } from "../panel/PagesPanel";
export { Session } from "./Session";
