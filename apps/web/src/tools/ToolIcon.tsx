import { cardOf } from "./registry";

export function ToolIcon({ name }: { name: string }) {
  const { icon: Icon } = cardOf(name);
  return <Icon size={17} aria-hidden="true" />;
}
