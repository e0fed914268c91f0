/** Navigation: a rail at the side of a wide screen, a tab bar at the bottom of a phone. */
import type { JSX } from "preact";
import { attentionCount } from "../store/attention-count.ts";
import { liveState } from "../store/live.ts";
import { panel } from "../store/panels.ts";
import { availableSections, type Section } from "../store/sections.ts";
import { hrefOf, pageName } from "../store/route.ts";
import { sessionState } from "../store/session.ts";
import { cycleTheme, themeChoice, type ThemeChoice } from "../store/theme.ts";
import { cycleTimes, timeStyle, timeStyleWords } from "../store/times.ts";
import { formatCount } from "../store/format.ts";
import { Icon, Mark, type IconName } from "./icon.tsx";
import { SignOut } from "./sign-out.tsx";
import { MODIFIER } from "./modifier.ts";

function Count(): JSX.Element {
  const count = attentionCount.value;
  const none = !count || count.value === 0;
  return (
    <span class="rail-count" data-none={none} data-testid="attention-count">
      {none ? "" : `${formatCount(count.value)}${count.exact ? "" : "+"}`}
      {!none && <span class="sr"> need attention</span>}
    </span>
  );
}

function RailLink({ section }: { readonly section: Section }): JSX.Element {
  return (
    <a
      class="rail-link"
      href={hrefOf([section.name])}
      aria-current={pageName.value === section.name ? "page" : undefined}
      data-section={section.name}
    >
      <Icon name={section.icon} />
      <span>{section.word}</span>
      {section.name === "attention" && <Count />}
    </a>
  );
}

export function Rail(): JSX.Element {
  const sections = availableSections();
  const groups = ["", "Work", "Records"];
  return (
    <nav class="rail" aria-label="Console">
      <Brand />
      {groups.map((group) => (
        <div key={group} role="group" aria-label={group || "Status"}>
          {group && <div class="rail-group">{group}</div>}
          {sections
            .filter((section) => (section.group ?? "") === group)
            .map((section) => (
              <RailLink key={section.name} section={section} />
            ))}
        </div>
      ))}
      <div class="rail-foot">
        <Person />
        <Live />
        <div class="rail-tools">
          <ThemeButton />
          <TimesButton />
          <button
            type="button"
            class="btn-icon"
            aria-label="Jump to a page, id or name"
            data-tip={`Jump to …  ${MODIFIER} K`}
            onClick={() => (panel.value = "palette")}
          >
            <Icon name="search" />
          </button>
          <button
            type="button"
            class="btn-icon"
            aria-label="Keyboard shortcuts"
            data-tip="Shortcuts  ?"
            onClick={() => (panel.value = "keys")}
          >
            <Icon name="keyboard" />
          </button>
        </div>
      </div>
    </nav>
  );
}

function Brand(): JSX.Element {
  return (
    <a class="brand" href={hrefOf(["overview"])} aria-label="Amends, to the overview">
      <Mark size={26} />
      <span>Amends</span>
    </a>
  );
}

function Person(): JSX.Element | null {
  const { value } = sessionState;
  if (value.state !== "in") return null;
  const { name, roles } = value.session;
  return (
    <div class="live" data-tip={`Roles: ${roles.join(", ")}`}>
      <Icon name="person" size={13} />
      <span class="clip">{name}</span>
      <SignOut />
    </div>
  );
}

const liveWords = {
  live: "Live",
  waiting: "Connecting",
  offline: "Reconnecting",
  paused: "Paused",
} as const;

function Live(): JSX.Element {
  const state = liveState.value;
  return (
    <div class="live" data-state={state} data-testid="live">
      <i class="live-dot" />
      <span>{liveWords[state]}</span>
    </div>
  );
}

const themeIcons: Readonly<Record<ThemeChoice, IconName>> = { system: "half", light: "sun", dark: "moon" };

function ThemeButton(): JSX.Element {
  const choice = themeChoice.value;
  const word = choice;
  return (
    <button
      type="button"
      class="btn-icon"
      aria-label={`Theme: ${word}`}
      data-tip={`Theme: ${word}  t`}
      data-testid="theme"
      onClick={cycleTheme}
    >
      <Icon name={themeIcons[choice]} />
    </button>
  );
}

function TimesButton(): JSX.Element {
  const word = timeStyleWords[timeStyle.value];
  return (
    <button
      type="button"
      class="btn-icon"
      aria-label={`Times: ${word}`}
      data-tip={`Times: ${word}  z`}
      data-testid="times"
      onClick={cycleTimes}
    >
      <Icon name="clock" />
      {timeStyle.value !== "relative" && (
        <span class="times-word">{timeStyle.value === "utc" ? "UTC" : "local"}</span>
      )}
    </button>
  );
}

export function TopBar(): JSX.Element {
  return (
    <header class="topbar">
      <Brand />
      <Live />
      <button
        type="button"
        class="btn-icon"
        aria-label="Jump to a page, id or name"
        onClick={() => (panel.value = "palette")}
      >
        <Icon name="search" />
      </button>
      <ThemeButton />
    </header>
  );
}

const TABS = 4;

export function TabBar(): JSX.Element {
  const sections = availableSections();
  const rest = sections.slice(TABS).some((section) => section.name === pageName.value);
  return (
    <nav class="tabbar" aria-label="Pages">
      {sections.slice(0, TABS).map((section) => (
        <a
          key={section.name}
          class="tab"
          href={hrefOf([section.name])}
          aria-current={pageName.value === section.name ? "page" : undefined}
        >
          <Icon name={section.icon} size={18} />
          {section.word}
          {section.name === "attention" && <Count />}
        </a>
      ))}
      <button
        type="button"
        class="tab"
        aria-current={rest ? "page" : undefined}
        onClick={() => (panel.value = "menu")}
      >
        <Icon name="menu" size={18} />
        More
      </button>
    </nav>
  );
}
