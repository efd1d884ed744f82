import { Cable, Check, ChevronDown } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { isMode, MODE_INFO, MODES, type Mode } from "../modes";

interface Props {
  mode: Mode;
  onChange: (mode: Mode) => void;
}

/** Switches the chat to another mode. */
export function ModeSwitch({ mode, onChange }: Props) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger className="button mode-switch" aria-label={`Transport: ${MODE_INFO[mode].label}`}>
        <Cable size={15} aria-hidden="true" />
        <span>{MODE_INFO[mode].short}</span>
        <ChevronDown size={14} aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={6}>
          <DropdownMenu.Label className="menu__label">Transport of this chat</DropdownMenu.Label>
          <DropdownMenu.RadioGroup
            value={mode}
            onValueChange={(value) => {
              if (isMode(value)) onChange(value);
            }}
          >
            {MODES.map((name) => (
              <DropdownMenu.RadioItem key={name} value={name} className="menu__item">
                <span className="menu__check">
                  <DropdownMenu.ItemIndicator>
                    <Check size={15} aria-hidden="true" />
                  </DropdownMenu.ItemIndicator>
                </span>
                <span className="menu__text">
                  <span className="menu__title">{MODE_INFO[name].label}</span>
                  <span className="menu__hint">
                    <code>{MODE_INFO[name].endpoint}</code> {MODE_INFO[name].hint}
                  </span>
                </span>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
