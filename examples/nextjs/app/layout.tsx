import type { Metadata } from "next";
import type { ReactNode } from "react";
import "./globals.css";

export const metadata: Metadata = {
  title: "My agent",
  description: "A chat with an agent that asks before it acts.",
};

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <h1>My agent</h1>
          {/* Not a <Link>: a chat is always opened with what the server has now. */}
          <a className="button" href="/">
            New chat
          </a>
        </header>
        {children}
      </body>
    </html>
  );
}
