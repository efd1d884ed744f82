// First, so that it is set before anything uses it.
import "./zod";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./shell/App";
import { preloadParts } from "./shell/parts";
import { applyTheme } from "./shell/theme";
import "./styles/index.css";

applyTheme();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no place for the console.");
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);

void preloadParts();
