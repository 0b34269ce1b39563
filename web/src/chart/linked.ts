import { limited, type Domain } from './scale.js';

/** A figure whose x axis can be shared. */
export interface Member {
  /** Zoomed domain of x. */
  x: Domain | undefined;
  /** Domain of x without zoom, undefined where it has none. */
  full: Domain | undefined;
  /** Room that the figure needs beside its plot. */
  margins: Margins;
  group?: Group;
  redraw: () => void;
}

export interface Margins {
  left: number;
  right: number;
}

interface Group {
  members: Member[];
  full: Domain;
}

const members = new WeakMap<HTMLElement, Member>();

export function register(figure: HTMLElement, member: Member): void {
  members.set(figure, member);
}

/** Lets figures of charts and timelines share their x axis: a zoom of one zooms all. */
export function linked(figures: HTMLElement[]): void {
  const found = figures.map((figure) => members.get(figure)).filter((member) => member?.full !== undefined) as Member[];
  const full = found.flatMap((member) => member.full ?? []);
  const group = { members: found, full: [Math.min(...full), Math.max(...full)] satisfies Domain as Domain };
  for (const member of found) member.group = group;
  for (const member of found) member.redraw();
}

/** Returns the domain of x that a member shows, if it is zoomed or shared. */
export function shownX(member: Member): Domain | undefined {
  return member.x ?? member.group?.full;
}

/** Zooms the x axis of a member and of those that share it. */
export function zoomX(member: Member, x: Domain | undefined): void {
  const full = member.group?.full ?? member.full;
  const to = x && full && limited(x, full, member.x);
  for (const each of member.group?.members ?? [member]) {
    each.x = to;
    each.redraw();
  }
}

/** Returns the margins that align the plots of a group. */
export function alignedMargins(member: Member): Margins {
  const all = (member.group?.members ?? [member]).map((each) => each.margins);
  return { left: Math.max(...all.map((each) => each.left)), right: Math.max(...all.map((each) => each.right)) };
}

/** Records the margins that a member needs, and redraws the others of its group where that moves their plots. */
export function setMargins(member: Member, margins: Margins): void {
  const before = alignedMargins(member);
  member.margins = margins;
  const after = alignedMargins(member);
  if (before.left === after.left && before.right === after.right) return;
  requestAnimationFrame(() => member.group?.members.forEach((each) => each.redraw()));
}
