import { Activity, Globe, Inbox, Maximize2, Minimize2, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { useWaitingCount } from "../inbox/ApprovalsContext";
import { pagesStore } from "../panel/pages";
import { useStore } from "../store";
import { lazily } from "./lazily";
import { conversation, inboxPanel, inspector } from "./parts";
import { DOCKS, type DockTab } from "./route";

const InboxPanel = lazily(inboxPanel, (panel) => panel.InboxPanel);
const InspectorPanel = lazily(inspector, (panel) => panel.InspectorPanel);
const PagesPanel = lazily(conversation, (chat) => chat.PagesPanel);

interface Props {
  tab: DockTab;
  chatId: string;
  isWide: boolean;
  onTab: (tab: DockTab) => void;
  onWide: (isWide: boolean) => void;
  onClose: () => void;
}

const LOOK: Record<DockTab, { label: string; Icon: typeof Inbox }> = {
  approvals: { label: "Approvals", Icon: Inbox },
  pages: { label: "Pages", Icon: Globe },
  inspector: { label: "Inspector", Icon: Activity },
};

/** The panels beside the chat. */
export function Dock({ tab, chatId, isWide, onTab, onWide, onClose }: Props) {
  const waiting = useWaitingCount();
  const { stack } = useStore(pagesStore);
  const pages = stack.length > 0 ? String(stack.length) : undefined;
  const counts: Partial<Record<DockTab, string | undefined>> = { approvals: waiting, pages };
  return (
    <Tabs.Root
      className="dock"
      value={tab}
      onValueChange={(value) => {
        const chosen = DOCKS.find((name) => name === value);
        if (chosen) onTab(chosen);
      }}
    >
      <div className="dock__head">
        <Tabs.List className="dock__tabs" aria-label="Beside the chat">
          {DOCKS.map((name) => {
            const { label, Icon } = LOOK[name];
            return (
              <Tabs.Trigger key={name} value={name} className="dock__tab">
                <Icon size={15} aria-hidden="true" />
                {label}
                {counts[name] !== undefined && (
                  <span className={name === "approvals" ? "badge" : "dock__count"}>{counts[name]}</span>
                )}
              </Tabs.Trigger>
            );
          })}
        </Tabs.List>
        <button
          type="button"
          className="icon-button dock__wide"
          aria-label={isWide ? "Narrower" : "Wider"}
          title={isWide ? "Narrower" : "Wider"}
          onClick={() => onWide(!isWide)}
        >
          {isWide ? <Minimize2 size={15} aria-hidden="true" /> : <Maximize2 size={15} aria-hidden="true" />}
        </button>
        <button type="button" className="icon-button" aria-label="Close the panel" title="Close" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </div>
      <Tabs.Content value="approvals" className="dock__content">
        <InboxPanel currentChatId={chatId} />
      </Tabs.Content>
      {/* Pages stay loaded while another tab of the dock is open. */}
      <Tabs.Content value="pages" className="dock__content dock__content--pages" forceMount hidden={tab !== "pages"}>
        <PagesPanel />
      </Tabs.Content>
      <Tabs.Content value="inspector" className="dock__content">
        <InspectorPanel chatId={chatId} />
      </Tabs.Content>
    </Tabs.Root>
  );
}
