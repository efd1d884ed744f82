import { Menu } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  title: string;
  onMenu: () => void;
  /** What belongs to the page only. */
  children?: ReactNode;
  className?: string;
}

/** The header of a page beside the chat. */
export function PageHeader({ title, onMenu, children, className }: Props) {
  return (
    <header className={className === undefined ? "header" : `header ${className}`}>
      <button type="button" className="icon-button header__menu" aria-label="Chats" onClick={onMenu}>
        <Menu size={18} aria-hidden="true" />
      </button>
      <h1 className="header__title">{title}</h1>
      {children}
    </header>
  );
}
