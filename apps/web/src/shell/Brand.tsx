/** The logo: two posts and what is held between them. */
export function Brand() {
  return (
    <span className="brand">
      <svg className="brand__mark" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="currentColor" />
        <path d="M9 8v16M23 8v16" stroke="var(--bg)" strokeWidth="3" strokeLinecap="round" />
        <circle cx="16" cy="16" r="4" fill="var(--brand)" />
      </svg>
      <span className="brand__name">Holdpoint</span>
    </span>
  );
}
