// The panel beside the rows. One thing is in it at a time: a row, a column, the plan, or code.

export function Panel({ title, actions, onClose, children }) {
  return (
    <section class="panel" role="complementary" aria-label={title} onKeyDown={(event) => { if (event.key === "Escape") onClose(); }}>
      <header class="panel-head"><h2>{title}</h2><span class="panel-actions">{actions}<button class="small" aria-label="Close the panel" onClick={onClose}>✕</button></span></header>
      <div class="panel-body" tabIndex={0} role="group" aria-label={`${title}, content`}>{children}</div>
    </section>
  );
}
