/** One schedule: its next ticks, what became of the last ones, and the allowed actions. */
import type { JSX } from "preact";
import type {
  NextTick,
  RemovedSchedule,
  ScheduleDetail,
  ScheduleTick,
} from "../../../src/console/contract-parts.ts";
import { ActionButtons } from "../parts/action-buttons.tsx";
import { CopyId } from "../parts/copy.tsx";
import { DetailPage } from "../parts/detail-frame.tsx";
import { Empty } from "../parts/empty.tsx";
import { Facts } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RevealButton, SecretView } from "../parts/secret-view.tsx";
import { State } from "../parts/state.tsx";
import { lookOfTick } from "../parts/tick-state.tsx";
import { Time } from "../parts/time.tsx";
import { formatDuration, formatInZone } from "../store/format.ts";
import { hrefOf, navigate } from "../store/route.ts";
import { lookOf, scheduleLooks } from "../store/states.ts";

const FROM = { href: hrefOf(["schedules"]), word: "Schedules" };

export function SchedulePage({ id }: { readonly id: string }): JSX.Element {
  return (
    <DetailPage<ScheduleDetail>
      path={`schedules/${encodeURIComponent(id)}`}
      topics={["schedules", "sagas"]}
      from={FROM}
    >
      {(schedule, { accept }) => <Detail schedule={schedule} accept={accept} />}
    </DetailPage>
  );
}

interface Props {
  readonly schedule: ScheduleDetail;
  readonly accept: (schedule: ScheduleDetail) => void;
}

function Detail({ schedule, accept }: Props): JSX.Element {
  const { id, cron, timezone, nextTicks, lastTicks } = schedule;
  const secret = { kind: "schedule", id } as const;
  const onDone = (answer: unknown): void => {
    const after = answer as ScheduleDetail | RemovedSchedule;
    if (after.status === "removed") navigate(FROM.href);
    else accept(after);
  };
  return (
    <>
      <PageHead
        from={FROM}
        title={
          <span class="title-line">
            {id} <State look={lookOf(scheduleLooks, schedule.status)} />
          </span>
        }
        actions={
          <ActionButtons
            target={{ kind: "schedule", id, name: id }}
            actions={schedule.actions}
            onDone={onDone}
          />
        }
      >
        <p>
          <code>{cron}</code> in {timezone}
        </p>
      </PageHead>
      <Callouts schedule={schedule} />
      <div class="split">
        <section class="card" aria-label="Last ticks">
          <div class="card-head">
            <h2>Last ticks</h2>
            <span class="dim">at most 100</span>
          </div>
          {lastTicks.length === 0 ? (
            <Empty icon="schedules" tone="stone" title="No tick yet" small />
          ) : (
            <ol class="trail">
              {lastTicks.map((tick) => (
                <TickRow key={`${tick.at} ${tick.outcome}`} tick={tick} timezone={timezone} />
              ))}
            </ol>
          )}
        </section>
        <div class="stack">
          <section class="card" aria-label="Next ticks">
            <div class="card-head">
              <h2>Next ticks</h2>
              <span class="dim">{timezone}</span>
            </div>
            {nextTicks.length === 0 ? (
              <Empty icon="pause" tone="stone" title="None while it is paused" small />
            ) : (
              <ol class="ticks">
                {nextTicks.map((tick) => (
                  <NextRow key={tick.at} tick={tick} timezone={timezone} />
                ))}
              </ol>
            )}
          </section>
          <section class="card" aria-label="Facts">
            <div class="card-head">
              <h2>Facts</h2>
            </div>
            <div class="card-body">
              <Facts rows={factsOf(schedule)} />
            </div>
          </section>
          <section class="card" aria-label="Input">
            <div class="card-head">
              <h2>Input of each saga</h2>
              <RevealButton secret={secret} />
            </div>
            <div class="card-body">
              <SecretView secret={secret} masked={schedule.input} path={["input"]} />
            </div>
          </section>
        </div>
      </div>
    </>
  );
}

function Callouts({ schedule }: { readonly schedule: ScheduleDetail }): JSX.Element {
  const { paused, pendingRun } = schedule;
  return (
    <>
      {paused && (
        <section class="callout" data-tone="stone" aria-label="Paused">
          <Icon name="pause" />
          <div>
            <strong>
              Paused <Time at={paused.since} focusable /> by {paused.by ?? "unknown"}
            </strong>
            <p>{paused.reason}</p>
          </div>
        </section>
      )}
      {pendingRun !== null && (
        <section class="callout" data-tone="sky" aria-label="Run">
          <Icon name="play" />
          <div>
            <strong>A run waits for a worker that has saga {schedule.saga}</strong>
            <p>
              <CopyId id={pendingRun} label="saga id" />
            </p>
          </div>
        </section>
      )}
    </>
  );
}

const overlaps: Readonly<Record<ScheduleDetail["overlap"], string>> = {
  skip: "skip the tick",
  allow: "start another saga",
};

const missedWords: Readonly<Record<ScheduleDetail["missed"], string>> = {
  one: "start the latest",
  skip: "start none",
  all: "start all, at most 1,000",
};

function factsOf(schedule: ScheduleDetail): readonly (readonly [string, JSX.Element | string])[] {
  const { saga, version, overlap, missed, jitterMs, createdAt, updatedAt } = schedule;
  return [
    [
      "Saga",
      <a key="s" class="link" href={hrefOf(["sagas"], [["name", saga]])}>
        {saga} (version {version})
      </a>,
    ],
    ["While one is open", overlaps[overlap] ?? overlap],
    ["Missed ticks", missedWords[missed] ?? missed],
    ["Jitter", jitterMs === 0 ? "none" : `up to ${formatDuration(jitterMs)}`],
    ["Created", <Time key="c" at={createdAt} focusable />],
    ["Last change", <Time key="u" at={updatedAt} focusable />],
  ];
}

function NextRow({ tick, timezone }: { readonly tick: NextTick; readonly timezone: string }): JSX.Element {
  const isLater = tick.beginsAt !== tick.at;
  return (
    <li class="tick-row">
      <span class="num">{formatInZone(Date.parse(tick.at), timezone)}</span>
      {isLater && (
        <span class="dim num" data-tip="It begins this much later (its jitter).">
          +{formatDuration(Date.parse(tick.beginsAt) - Date.parse(tick.at))}
        </span>
      )}
      <Time at={tick.beginsAt} class="dim" planned />
    </li>
  );
}

function TickRow({
  tick,
  timezone,
}: {
  readonly tick: ScheduleTick;
  readonly timezone: string;
}): JSX.Element {
  const look = lookOfTick(tick);
  const { sagaId, until, outcome } = tick;
  const at = formatInZone(Date.parse(tick.at), timezone);
  return (
    <li class="trail-row" data-tone={look.tone}>
      <i class="event-dot" />
      <div>
        <div class="trail-head">
          <strong class="num">
            {until === null ? at : `${at} – ${formatInZone(Date.parse(until), timezone)}`}
          </strong>
          <State look={look} />
          {tick.run && <span class="tag">run by an operator</span>}
          <Time at={until ?? tick.at} class="dim" />
        </div>
        {sagaId !== null && (
          <p class="dim clip">
            {outcome === "skipped" ? "was open: " : ""}
            <a class="link" href={hrefOf(["sagas", sagaId])}>
              {sagaId}
            </a>
          </p>
        )}
      </div>
    </li>
  );
}
