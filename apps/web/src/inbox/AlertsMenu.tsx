import { Bell, BellRing } from "lucide-react";
import { Popover, Switch } from "radix-ui";
import { useId, useState } from "react";
import { useStore } from "../store";
import { alertsStore, permission, setNotifying, setSounding } from "./alerts";

/** The switches for notifications and sounds. */
export function AlertsMenu() {
  const { isNotifying, isSounding } = useStore(alertsStore);
  const [given, setGiven] = useState(permission);
  const id = useId();
  const isOn = isNotifying || isSounding;
  return (
    <Popover.Root>
      <Popover.Trigger className="icon-button" aria-label="Alerts" title="Alerts">
        {isOn ? <BellRing size={17} aria-hidden="true" /> : <Bell size={17} aria-hidden="true" />}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="menu alerts" align="end" sideOffset={6} aria-label="Alerts">
          <div className="alerts__row">
            <label htmlFor={`${id}-notify`}>
              <span className="menu__title">Desktop notifications</span>
              <span className="menu__hint">{HINTS[given]}</span>
            </label>
            <Switch.Root
              id={`${id}-notify`}
              className="switch"
              checked={isNotifying && given === "granted"}
              disabled={given === "unsupported" || given === "denied"}
              onCheckedChange={(isChecked) => void setNotifying(isChecked).then(setGiven)}
            >
              <Switch.Thumb className="switch__thumb" />
            </Switch.Root>
          </div>
          <div className="alerts__row">
            <label htmlFor={`${id}-sound`}>
              <span className="menu__title">Sound</span>
              <span className="menu__hint">Two short tones for a new request.</span>
            </label>
            <Switch.Root id={`${id}-sound`} className="switch" checked={isSounding} onCheckedChange={setSounding}>
              <Switch.Thumb className="switch__thumb" />
            </Switch.Root>
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const HINTS = {
  default: "Your browser will ask you.",
  granted: "For new requests, while you look at something else.",
  denied: "Your browser forbids them for this site. Allow them in its settings.",
  unsupported: "This browser has none.",
} as const;
