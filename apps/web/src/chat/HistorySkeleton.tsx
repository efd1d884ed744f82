export function HistorySkeleton() {
  return (
    <div className="transcript-frame">
      <div className="transcript" role="status" aria-label="Reading the chat">
        <div className="transcript__column" aria-hidden="true">
          <span className="skeleton" style={{ width: "42%", height: "2.6rem", marginLeft: "auto" }} />
          <span className="skeleton" style={{ width: "88%", height: "1rem" }} />
          <span className="skeleton" style={{ width: "72%", height: "1rem" }} />
          <span className="skeleton" style={{ width: "100%", height: "9rem" }} />
        </div>
      </div>
    </div>
  );
}
