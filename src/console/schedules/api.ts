/** Schedules: a list, one of them with its ticks, and what a person may do to it. */
import { checkScheduleName } from "../../schedules/definition.ts";
import type { ListedSchedule, NextTick, Schedule, ScheduleTick } from "../../schedules/read/view.ts";
import type { Revealers } from "../audit/api.ts";
import { noteOf, type ConsoleContext } from "../context.ts";
import type {
  NextTick as NextTickLine,
  RemovedSchedule,
  ScheduleAction,
  ScheduleDetail,
  ScheduleLine,
  ScheduleRun,
  ScheduleTick as TickLine,
} from "../contract-parts.ts";
import type { Json, Page } from "../contract.ts";
import { notFound } from "../http/answer.ts";
import { mask } from "../http/mask.ts";
import { after, toPage } from "../http/page.ts";
import { limit, oneOf, reason, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";

const NEXT_SHOWN = 10;

export function scheduleRoutes(context: ConsoleContext): readonly Route[] {
  const { schedules } = context.amends;
  const path = "/api/schedules";
  const shared = {
    method: "POST",
    access: "operate",
    answers: "ScheduleDetail",
    body: { reason: reason() },
  } as const;
  return [
    route({
      method: "GET",
      path,
      access: "read",
      summary: "Schedules by name, each with its next and its last tick.",
      answers: "Page<ScheduleLine>",
      query: {
        q: text(128),
        saga: text(64),
        status: oneOf(["active", "paused"]),
        limit: limit(),
        after: after(),
      },
      handle: async ({ query }): Promise<Page<ScheduleLine>> => {
        const { q, saga, status, limit: max, after: place } = query;
        const found = await schedules.list({
          limit: max,
          ...(q !== undefined && { name: q }),
          ...(saga !== undefined && { saga }),
          ...(status && { status }),
          ...(place !== undefined && { after: place }),
        });
        return toPage(found, toLine);
      },
    }),
    route({
      method: "GET",
      path: `${path}/{id}`,
      access: "read",
      summary: "One schedule with its next and its last ticks.",
      answers: "ScheduleDetail",
      handle: async ({ id }) => detailOf(context, id),
    }),
    route({
      ...shared,
      path: `${path}/{id}/pause`,
      summary: "Pauses the schedule: it does not tick until it is resumed.",
      handle: async (call) => {
        await schedules.pause(checked(call.id), noteOf(call));
        return detailOf(context, call.id);
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/resume`,
      summary: "Resumes the schedule from now on.",
      handle: async (call) => {
        await schedules.resume(checked(call.id), noteOf(call));
        return detailOf(context, call.id);
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/run`,
      summary: "Asks for the saga of the schedule now: a worker that has the saga starts it.",
      answers: "ScheduleRun",
      handle: async (call): Promise<ScheduleRun> => {
        const { sagaId } = await schedules.run(checked(call.id), noteOf(call));
        return { ...(await detailOf(context, call.id)), sagaId };
      },
    }),
    route({
      ...shared,
      path: `${path}/{id}/remove`,
      answers: "RemovedSchedule",
      summary: "Removes the schedule and the record of its ticks. Its open sagas go on.",
      handle: async (call): Promise<RemovedSchedule> => {
        if (!(await schedules.remove(checked(call.id), noteOf(call)))) throw missing();
        return { id: call.id, status: "removed", actions: [] };
      },
    }),
  ];
}

export function scheduleRevealers(context: ConsoleContext): Revealers {
  return { schedule: async (id) => ({ fields: { input: (await scheduleOf(context, id)).input as Json } }) };
}

async function scheduleOf({ amends }: ConsoleContext, id: string): Promise<Schedule> {
  const found = await amends.schedules.get(checked(id), { nextTicks: NEXT_SHOWN });
  if (!found) throw missing();
  return found;
}

async function detailOf(context: ConsoleContext, id: string): Promise<ScheduleDetail> {
  const schedule = await scheduleOf(context, id);
  return {
    ...toLine(schedule),
    input: mask(schedule.input),
    nextTicks: schedule.nextTicks.map(toNext),
    lastTicks: schedule.lastTicks.map(toTick),
  };
}

/** No schedule has a name that is not allowed. */
function checked(id: string): string {
  try {
    return checkScheduleName(id);
  } catch {
    throw missing();
  }
}

function missing(): ReturnType<typeof notFound> {
  return notFound("schedule with this name");
}

const ACTIONS: Readonly<Record<ListedSchedule["status"], readonly ScheduleAction[]>> = {
  active: ["run", "pause", "remove"],
  paused: ["resume", "run", "remove"],
};

function toLine(schedule: ListedSchedule): ScheduleLine {
  const { name: id, status, cron, timezone, saga, version, overlap, missed, jitterMs } = schedule;
  const { next, last, paused } = schedule;
  return {
    id,
    status,
    cron,
    timezone,
    saga,
    version,
    overlap,
    missed,
    jitterMs,
    next: next ? toNext(next) : null,
    last: last ? toTick(last) : null,
    pendingRun: schedule.pendingRun ?? null,
    paused: paused
      ? { since: paused.since.toISOString(), by: paused.by ?? null, reason: paused.reason }
      : null,
    createdAt: schedule.createdAt.toISOString(),
    updatedAt: schedule.updatedAt.toISOString(),
    actions: ACTIONS[status],
  };
}

function toNext({ at, beginsAt }: NextTick): NextTickLine {
  return { at: at.toISOString(), beginsAt: beginsAt.toISOString() };
}

function toTick({ at, until, outcome, run, sagaId, sagaStatus }: ScheduleTick): TickLine {
  return {
    at: at.toISOString(),
    until: until?.toISOString() ?? null,
    outcome,
    run,
    sagaId: sagaId ?? null,
    sagaStatus: sagaStatus ?? null,
  };
}
