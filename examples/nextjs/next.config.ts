import type { NextConfig } from "next";

export default {
  // This folder is the whole app, even inside another repository.
  turbopack: { root: import.meta.dirname },
} satisfies NextConfig;
