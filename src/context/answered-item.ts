import { visible } from '../catalog/invisible-characters.ts';
import type { ContextItem } from './item.ts';

/** An item as answers and prompts have it: without characters that nobody sees, but for its names. */
export interface AnsweredItem extends Pick<ContextItem, 'id' | 'text' | 'store' | 'kind' | 'place' | 'tags'> {
  readonly score: number;
  readonly reasons: readonly string[];
  /** When it takes place: an ISO time, with the distance of the user's clock from UTC. */
  readonly at?: string;
}

/** @param utcOffsetMinutes of the user's clock */
export function answeredItem(
  { id, text, store, kind, place, at, tags }: ContextItem,
  { score, reasons }: Pick<AnsweredItem, 'score' | 'reasons'>,
  utcOffsetMinutes: number,
): AnsweredItem {
  return {
    ...{ id, text: visible(text), score, reasons, store },
    ...(kind !== undefined && { kind: visible(kind) }),
    ...(place !== undefined && { place: visible(place) }),
    ...(at !== undefined && { at: isoTimeAt(at, utcOffsetMinutes) }),
    ...(tags !== undefined && { tags: tags.map(visible) }),
  };
}

const MINUTE = 60_000;

function isoTimeAt(at: number, utcOffsetMinutes: number): string {
  const local = new Date(at + utcOffsetMinutes * MINUTE).toISOString().slice(0, -1);
  if (utcOffsetMinutes === 0) return `${local}Z`;
  const minutes = Math.abs(utcOffsetMinutes);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${local}${utcOffsetMinutes < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
