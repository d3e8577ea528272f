import type { RewardReceipt } from '../../src/rewards/reward-report.ts';
import type { DecisionExplanation } from '../../src/routing/explain-decision.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import type { RunningService } from './running-service.ts';

/** Tools of a small shop, as an agent would find them. */
export const SHOP_TOOLS = [
  ['refund_payment', 'Give a customer their money back for a payment.', 'payment_id'],
  ['create_invoice', 'Create an invoice for an order and send it to the customer.', 'order_id'],
  ['book_courier', 'Order a courier who picks up a parcel and delivers it.', 'parcel_id'],
  ['track_parcel', 'Say where a parcel is and when it will arrive.', 'parcel_id'],
  ['update_address', 'Change the delivery address of an order.', 'order_id'],
  ['close_ticket', 'Close a support ticket with a closing note.', 'ticket_id'],
  ['escalate_ticket', 'Hand a support ticket over to the second level.', 'ticket_id'],
  ['export_report', 'Export the sales report of a month as a spreadsheet.', 'month'],
  ['send_newsletter', 'Send a newsletter to all subscribers.', 'campaign'],
  ['restock_item', 'Order new stock of an item from its supplier.', 'item_id'],
].map(([name, description, parameter]) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { [parameter]: { type: 'string' } }, required: [parameter] },
}));

/** Asks one service about one catalog. */
export class Shop {
  readonly service: RunningService;
  readonly catalog: string;

  constructor(service: RunningService, catalog: string) {
    this.service = service;
    this.catalog = catalog;
  }

  /** A catalog of its own with the tools of the shop. */
  static async open(service: RunningService, catalog: string, settings: object = {}): Promise<Shop> {
    const shop = new Shop(service, catalog);
    await shop.configure(settings);
    await service.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools: SHOP_TOOLS });
    return shop;
  }

  configure(settings: object): Promise<{ policy: { name: string; version: string }; revision: string }> {
    return this.service.ask('PUT', `/v1/catalogs/${this.catalog}`, settings);
  }

  route(query: string, more: object = {}): Promise<RouteAnswer> {
    return this.service.ask('POST', '/v1/route', { query, catalog: this.catalog, ...more });
  }

  /** The slate without exploration, in order. */
  async greedy(query: string, more: object = {}): Promise<string[]> {
    const { tools } = await this.route(query, { explore: false, learn: false, ...more });
    return tools.map(({ name }) => name);
  }

  explain(decisionId: string): Promise<DecisionExplanation> {
    return this.service.ask('GET', `/v1/decisions/${decisionId}`);
  }

  report(decisionId: string, outcome: object): Promise<RewardReceipt> {
    return this.service.ask('POST', `/v1/decisions/${decisionId}/rewards`, outcome);
  }

  /** Asks, is shown this tool, calls it with success, and waits until that was learned; so many times. */
  async teach(query: string, tool: string, times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const { decisionId } = await this.route(query, { pin: [tool] });
      await this.report(decisionId, { tool, outcome: 'success' });
    }
    await this.settled();
  }

  settled(): Promise<void> {
    return this.service.settled(this.catalog);
  }

  stats(tool: string): Promise<Record<string, number>> {
    return this.service.ask('GET', `/v1/catalogs/${this.catalog}/tools/${tool}/stats`);
  }

  /** A number of /metrics about this catalog. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return metric(this.service, name, { catalog: this.catalog, ...labels });
  }
}

/** The sum of all samples of a metric that have these labels. */
export async function metric(
  service: RunningService,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`));
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return samples
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
