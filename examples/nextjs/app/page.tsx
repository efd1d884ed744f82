import { redirect } from "next/navigation";

export const dynamic = "force-dynamic";

/** A new chat. Its id is in the address, so that a reload shows the same chat. */
export default function NewChat() {
  redirect(`/chat/${crypto.randomUUID()}`);
}
