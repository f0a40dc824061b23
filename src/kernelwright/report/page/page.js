// What a page does beyond what HTML does by itself: fold or unfold the whole tree (folded at first on a phone), open the trial that a link leads to, and follow a run that is at work.
// It fetches nothing unless the page says that it is live (`data-live`), and then only from where it came.
"use strict";
(() => {
  const page = () => document.getElementById("page");

  const showTools = () => {
    for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
  };

  document.addEventListener("click", (event) => {
    const fold = event.target instanceof HTMLElement ? event.target.dataset.fold : undefined;
    if (fold === undefined) return;
    for (const branch of document.querySelectorAll("details.branch")) branch.open = fold === "open";
  });

  // On a phone the tree of a long run is folded at first: 75 trials are eleven thousand pixels.
  const foldOnPhone = () => {
    const branches = document.querySelectorAll("details.branch");
    if (branches.length < 20 || !matchMedia("(max-width: 36rem)").matches) return;
    for (const branch of branches) branch.open = false;
  };

  // What the reader has opened and closed stays so when the page is renewed.
  const renew = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const old of page().querySelectorAll("details[id]")) {
      const same = fresh.getElementById(old.id);
      if (same !== null) same.open = old.open;
    }
    document.title = fresh.title;
    page().replaceWith(document.adoptNode(fresh.getElementById("page")));
    showTools();
  };

  // A link to a trial, such as a point of the picture, opens what hides the trial, and its note.
  const open = () => {
    const trial = document.getElementById(location.hash.slice(1));
    if (trial === null) return;
    for (let one = trial; one !== null; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    const note = trial.querySelector(":scope > .look");
    if (note !== null) note.open = true;
    trial.scrollIntoView();
  };

  const follow = () => {
    const events = new EventSource("events");
    let busy = false, again = false;
    const load = async () => {
      if (busy) { again = true; return; }
      busy = true;
      try {
        const answer = await fetch("", { cache: "no-store" });
        if (answer.ok) renew(await answer.text());
      } catch { /* the watch ended; EventSource tries again by itself */ }
      busy = false;
      if (again) { again = false; load(); }
    };
    // Sent first whenever the connection is made: after the watch was gone, what was missed is fetched.
    events.addEventListener("changed", (event) => { if (event.data !== page().dataset.live) load(); });
    events.addEventListener("status", (event) => {
      const rows = JSON.parse(event.data);
      const texts = document.querySelectorAll(".live dd");
      rows.forEach(([, text], index) => { if (texts[index]) texts[index].textContent = text; });
    });
  };

  showTools();
  foldOnPhone();
  open();
  addEventListener("hashchange", open);
  if (page().dataset.live !== undefined) follow();
})();
