/** Operator actions, and the recorded events of data subjects. Both are append-only. */
import type { JSX } from "preact";
import type { ActionLine } from "../../../src/console/contract.ts";
import type { AuditEventLine } from "../../../src/console/contract-parts.ts";
import { Empty } from "../parts/empty.tsx";
import { FactTags } from "../parts/fact-tags.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { SearchBox } from "../parts/search-box.tsx";
import { State } from "../parts/state.tsx";
import { RowLink, Table, type Column } from "../parts/table.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import { actionWords } from "../store/action-words.ts";
import { usePagedList } from "../store/paged-list.ts";
import { apiPath } from "../store/query.ts";
import { hrefOf, route } from "../store/route.ts";
import { hasPart } from "../store/session.ts";
import type { Look } from "../store/states.ts";
import { eventWord } from "./subject.tsx";

export function AuditPage({ tab }: { readonly tab: "actions" | "subjects" }): JSX.Element {
  return (
    <div class="page">
      <PageHead title="Audit">
        <p>Who did what, and why. Append-only: nothing here can be changed.</p>
      </PageHead>
      {hasPart("erasures") && (
        <Tabs
          label="Audit"
          tabs={[
            { href: hrefOf(["audit"]), word: "Operator actions", on: tab === "actions" },
            { href: hrefOf(["audit", "subjects"]), word: "Data-subject log", on: tab === "subjects" },
          ]}
        />
      )}
      {tab === "actions" ? <Actions /> : <Subjects />}
    </div>
  );
}

const outcomes: Readonly<Record<ActionLine["outcome"], Look>> = {
  done: { word: "Done", tone: "sea", icon: "check", meaning: "The action was carried out." },
  refused: {
    word: "Refused",
    tone: "copper",
    icon: "cross",
    meaning: "The action was not allowed, or the item had changed.",
  },
  asked: {
    word: "Unknown",
    tone: "stone",
    icon: "dots",
    meaning: "The process ended before the outcome was known.",
  },
};

const places: Readonly<Record<string, readonly string[]>> = {
  saga: ["sagas"],
  schedule: ["schedules"],
  entry: ["outbox"],
  flow: ["flows"],
  event: ["outbox"],
  subject: ["erasures"],
  delivery: ["webhooks", "deliveries"],
  subscription: ["webhooks", "subscriptions"],
};

const actionId = ({ id }: ActionLine): string => id;

const actionColumns: readonly Column<ActionLine>[] = [
  {
    head: "Action",
    class: "phone-main",
    cell: ({ action, target, reason }) => {
      const section = places[target.kind];
      const words = actionWords({ action, target });
      if (!section) {
        return (
          <span class="cell-2">
            <span class="clip">{words}</span>
            <small class="clip">{reason}</small>
          </span>
        );
      }
      return (
        <RowLink href={hrefOf([...section, target.id])} note={reason}>
          {words}
        </RowLink>
      );
    },
  },
  {
    head: "Outcome",
    class: "w-state phone-end",
    cell: ({ outcome, code }) => {
      const look = outcomes[outcome];
      return <State look={code === null ? look : { ...look, meaning: `${look.meaning} ${code}` }} />;
    },
  },
  { head: "By", class: "w-name", label: "by", cell: ({ by }) => <span class="clip">{by}</span> },
  { head: "When", class: "w-time end phone-end", cell: ({ at }) => <Time at={at} class="dim" /> },
];

function Actions(): JSX.Element {
  const { query } = route.value;
  const filters = { by: query.get("by"), action: query.get("action"), target: query.get("target") };
  const pages = usePagedList<ActionLine>(apiPath("audit", { ...filters, limit: "50" }), {
    topics: ["audit"],
    idOf: actionId,
  });
  const narrowed = Object.values(filters).some(Boolean);
  return (
    <>
      <div class="tools">
        <SearchBox
          label="Search by id"
          placeholder="Id of a saga, schedule, entry, flow, delivery or subscription"
          param="target"
        />
      </div>
      <div class="card">
        <Table
          caption="Actions"
          columns={actionColumns}
          pages={pages}
          idOf={actionId}
          empty={
            narrowed ? (
              <Empty icon="search" tone="stone" title="No matching actions" />
            ) : (
              <Empty icon="audit" title="No operator actions yet">
                <p>Every retry, skip, resend or reveal is recorded with its reason before it runs.</p>
              </Empty>
            )
          }
        />
      </div>
    </>
  );
}

const eventId = ({ id }: AuditEventLine): string => id;

const eventColumns: readonly Column<AuditEventLine>[] = [
  {
    head: "Event",
    class: "w-fact phone-main",
    cell: ({ type, subjectId }) => (
      <RowLink href={hrefOf(["erasures", subjectId])} note={<code>{subjectId}</code>}>
        {eventWord(type)}
      </RowLink>
    ),
  },
  { head: "Details", class: "phone-wide", cell: ({ payload }) => <FactTags facts={payload} /> },
  { head: "When", class: "w-time end phone-end", cell: ({ at }) => <Time at={at} class="dim" /> },
];

function Subjects(): JSX.Element {
  const { query } = route.value;
  const filters = { subject: query.get("subject"), type: query.get("type") };
  const pages = usePagedList<AuditEventLine>(apiPath("audit/events", { ...filters, limit: "50" }), {
    topics: ["audit", "erasures"],
    idOf: eventId,
  });
  return (
    <>
      <div class="tools">
        <SearchBox label="Search by data subject" placeholder="Data subject id" param="subject" />
      </div>
      <div class="card">
        <Table
          caption="Data-subject log"
          columns={eventColumns}
          pages={pages}
          idOf={eventId}
          empty={
            <Empty icon="audit" tone="stone" title="No events yet">
              <p>Events of erasures and rectifications are recorded here, without personal data.</p>
            </Empty>
          }
        />
      </div>
    </>
  );
}
