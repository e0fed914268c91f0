/** What people did here, and what is on record about subjects. Both are only ever added to. */
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
        <p>Who did what, and why. Nothing here can be changed or taken back.</p>
      </PageHead>
      {hasPart("erasures") && (
        <Tabs
          label="Audit"
          tabs={[
            { href: hrefOf(["audit"]), word: "Actions of people", on: tab === "actions" },
            { href: hrefOf(["audit", "subjects"]), word: "Record of subjects", on: tab === "subjects" },
          ]}
        />
      )}
      {tab === "actions" ? <Actions /> : <Subjects />}
    </div>
  );
}

const outcomes: Readonly<Record<ActionLine["outcome"], Look>> = {
  done: { word: "Done", tone: "sea", icon: "check", meaning: "It was carried out." },
  refused: {
    word: "Refused",
    tone: "copper",
    icon: "cross",
    meaning: "It was not allowed, or came too late.",
  },
  asked: {
    word: "Unknown",
    tone: "stone",
    icon: "dots",
    meaning: "The process went away before it could say.",
  },
};

const places: Readonly<Record<string, readonly string[]>> = {
  saga: ["sagas"],
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
      const words = `${action} ${target.kind} ${target.id}`;
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
          label="Find what was done to something"
          placeholder="The id of what was acted on"
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
              <Empty icon="search" tone="stone" title="No action fits" />
            ) : (
              <Empty icon="audit" title="Nobody has done anything yet">
                <p>
                  Each retry, skip, resend or reveal appears here with its reason, before it takes effect.
                </p>
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
    head: "Fact",
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
        <SearchBox label="Find a subject’s record" placeholder="A subject’s id" param="subject" />
      </div>
      <div class="card">
        <Table
          caption="Record of subjects"
          columns={eventColumns}
          pages={pages}
          idOf={eventId}
          empty={
            <Empty icon="audit" tone="stone" title="Nothing is on record">
              <p>Facts about erasures and rectifications are kept here, without personal data.</p>
            </Empty>
          }
        />
      </div>
    </>
  );
}
