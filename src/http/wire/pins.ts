import { z } from '@hono/zod-openapi';
import { isoTime, toolName } from './names.ts';

const pin = z.strictObject({
  tool: toolName,
  until: isoTime.optional().meta({ description: 'When it ends by itself; absent: when it is taken back.' }),
});

/** As many as the largest slate has places. */
const MAX_PINS = 50;

export const pinsSchema = z
  .strictObject({
    pins: z
      .array(pin)
      .max(MAX_PINS, `must not have more than ${MAX_PINS} pins`)
      .refine((pins) => new Set(pins.map(({ tool }) => tool)).size === pins.length, {
        message: 'must not name a tool twice',
      })
      .meta({ description: 'All of them, in the order of the slate; [] takes every pin back.' }),
  })
  .openapi('Pins');

export const pinsViewSchema = z
  .object({
    pins: z.array(
      pin.extend({
        active: z
          .boolean()
          .meta({ description: 'false: its tool was removed, or it has ended; it is in no slate.' }),
      }),
    ),
  })
  .openapi('PinsView');
