import {
  CloudSun,
  CreditCard,
  Database,
  DatabaseZap,
  Globe,
  MapPin,
  MessageCircleQuestionMark,
  Music,
  Wrench,
} from "lucide-react";

const ICONS: Record<string, typeof Wrench> = {
  process_payment: CreditCard,
  get_weather: CloudSun,
  get_location: MapPin,
  change_bgm: Music,
  "open-url": Globe,
  search_database: Database,
  update_database: DatabaseZap,
  ask_user: MessageCircleQuestionMark,
};

export function ToolIcon({ name }: { name: string }) {
  const Icon = ICONS[name] ?? Wrench;
  return <Icon size={17} aria-hidden="true" />;
}
