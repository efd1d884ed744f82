const SIZE = 64;

/** Shows a number in the tab's icon; none for 0. */
export function setBadge(text: string | undefined): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  link.dataset.badge = text ?? "";
  if (text === undefined) {
    link.type = "image/svg+xml";
    link.href = "/mark.svg";
    return;
  }
  const mark = new Image();
  mark.onload = () => {
    // Another number may have come in the meantime.
    if (link.dataset.badge !== text) return;
    const canvas = document.createElement("canvas");
    canvas.width = SIZE;
    canvas.height = SIZE;
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.drawImage(mark, 0, 0, SIZE, SIZE);
    context.fillStyle = "#c2260f";
    context.beginPath();
    context.roundRect(SIZE - 20 - text.length * 16, SIZE - 38, 20 + text.length * 16, 38, 19);
    context.fill();
    context.fillStyle = "#ffffff";
    context.font = "bold 30px sans-serif";
    context.textAlign = "center";
    context.fillText(text, SIZE - 10 - text.length * 8, SIZE - 9);
    link.type = "image/png";
    link.href = canvas.toDataURL("image/png");
  };
  mark.src = "/mark.svg";
}

/** How many are loaded at least, where there are more: fewer would make the text untrue. */
export const COUNTED = 100;

/** How many wait, wherever that is said. Where not all are loaded, nothing finer than "99+" is known. */
export function countText(count: number, hasMore: boolean): string | undefined {
  if (count === 0 && !hasMore) return undefined;
  return count > 99 || hasMore ? "99+" : String(count);
}
