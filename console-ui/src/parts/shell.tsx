/** The frame around every page, and the shortcuts that work everywhere. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { unreachableSince } from "../store/api.ts";
import { attentionCount } from "../store/attention-count.ts";
import { useCounts } from "../store/counts.ts";
import { focusSearch, moveRow, useKeys, type Keys } from "../store/keys.ts";
import { panel } from "../store/panels.ts";
import { availableSections } from "../store/sections.ts";
import { hrefOf, navigate, pageName, route } from "../store/route.ts";
import { cycleTheme } from "../store/theme.ts";
import { cycleTimes } from "../store/times.ts";
import { CurrentPage, DocumentTitle } from "../pages/router.tsx";
import { ActionDialog } from "./action-dialog.tsx";
import { BulkDialog } from "./bulk-dialog.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Icon } from "./icon.tsx";
import { Panels } from "./panels.tsx";
import { Rail, TabBar, TopBar } from "./rail.tsx";
import { RevealDialog } from "./secret-view.tsx";
import { Span } from "./time.tsx";

const keys: Keys = {
  "/": focusSearch,
  j: () => moveRow(1),
  k: () => moveRow(-1),
  u: () => {
    const { path } = route.value;
    if (path.length > 1) navigate(hrefOf(path.slice(0, 1)));
  },
  r: () => document.querySelector<HTMLButtonElement>("[data-newer]")?.click(),
  t: cycleTheme,
  z: cycleTimes,
  "?": () => (panel.value = "keys"),
  "ctrl-k": () => (panel.value = panel.value === "palette" ? undefined : "palette"),
};

function goToKeys(): Keys {
  return Object.fromEntries(
    availableSections().map(({ key, name }) => [`g ${key}`, () => navigate(hrefOf([name]))]),
  );
}

export function Shell(): JSX.Element {
  useKeys(keys);
  useKeys(useMemo(goToKeys, []));
  const main = useRef<HTMLElement>(null);
  const { path } = route.value;
  const where = path.join("/");
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [where]);
  return (
    <>
      <nav class="skip-nav" aria-label="Skip">
        <a class="skip" href={`#/${where}`} onClick={() => main.current?.focus()}>
          Skip to the page
        </a>
      </nav>
      <div class="shell">
        <Rail />
        <TopBar />
        <main class="main" id="main" ref={main} tabIndex={-1}>
          <ErrorBoundary key={where}>
            <CurrentPage path={path} />
          </ErrorBoundary>
        </main>
        <TabBar />
        <OfflineBanner />
      </div>
      <DocumentTitle path={path} />
      <FirstCount />
      <Panels />
      <ActionDialog />
      <BulkDialog />
      <RevealDialog />
    </>
  );
}

/** The badge needs a count before the first notice arrives. On the overview the page itself has it. */
function FirstCount(): JSX.Element | null {
  return attentionCount.value === undefined && pageName.value !== "overview" ? <Counts /> : null;
}

function Counts(): null {
  useCounts();
  return null;
}

function OfflineBanner(): JSX.Element | null {
  const since = unreachableSince.value;
  if (since === undefined) return null;
  return (
    <div class="banner-slot" role="alert">
      <div class="banner" data-tone="bad">
        <Icon name="offline" />
        <span>
          The server has not answered for <Span from={since} />. The data may be old. Reconnecting
          automatically.
        </span>
      </div>
    </div>
  );
}
