/** What surrounds every page, and the keys that work everywhere. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Overview } from "../../../src/console/contract.ts";
import { get, unreachableSince } from "../store/api.ts";
import { focusSearch, moveRow, useKeys, type Keys } from "../store/keys.ts";
import { attentionCount } from "../store/live.ts";
import { panel } from "../store/panels.ts";
import { availableSections } from "../store/sections.ts";
import { navigate, hrefOf, route } from "../store/route.ts";
import { cycleTheme } from "../store/theme.ts";
import { CurrentPage } from "../pages/router.tsx";
import { ActionDialog } from "./action-dialog.tsx";
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
  r: () => document.querySelector<HTMLButtonElement>("[data-fresh]")?.click(),
  t: cycleTheme,
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
  const where = route.value.path.join("/");
  useFirstCount();
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
      <a class="skip" href={`#/${where}`} onClick={() => main.current?.focus()}>
        Skip to the page
      </a>
      <div class="shell">
        <Rail />
        <TopBar />
        <main class="main" id="main" ref={main} tabIndex={-1}>
          <ErrorBoundary key={where}>
            <CurrentPage />
          </ErrorBoundary>
        </main>
        <TabBar />
        <Lost />
      </div>
      <Panels />
      <ActionDialog />
      <RevealDialog />
    </>
  );
}

/** How much needs a person is known before the first notice arrives. */
function useFirstCount(): void {
  useEffect(() => {
    if (attentionCount.peek()) return;
    void get<Overview>("overview?window=1h").then(
      ({ attention }) => (attentionCount.value ??= attention),
      () => undefined,
    );
  }, []);
}

function Lost(): JSX.Element | null {
  const since = unreachableSince.value;
  if (since === undefined) return null;
  return (
    <div class="banner-slot" role="alert">
      <div class="banner" data-tone="bad">
        <Icon name="offline" />
        <span>
          The server has not answered for <Span from={since} />. What you see may be old; the page goes on by
          itself.
        </span>
      </div>
    </div>
  );
}
