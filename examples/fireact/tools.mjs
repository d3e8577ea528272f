/** Six tools of the sample catalog, over a shop that lives as long as the process. */
export class Tools {
  #shop = {
    tickets: new Map([
      [
        'SUP-5120',
        { requester: 'mrs.adeyemi@mail.example', text: 'The frame bag is the wrong size.', replies: [] },
      ],
      ['SUP-5044', { requester: 'greta.holm@mail.example', text: 'I paid shipping twice.', replies: [] }],
    ]),
    payments: new Map([
      ['pi_771', { customer: 'mrs.adeyemi@mail.example', amount: 64, refunded: 0 }],
      ['pi_802', { customer: 'greta.holm@mail.example', amount: 129, refunded: 0 }],
    ]),
    emails: [{ id: 'm1', from: 'accounts@tideline.example', subject: 'Invoice 118' }],
    activities: [],
  };

  #tools = {
    getTicket: ({ ticketKey }) => ({ ticketKey, ...this.#find('tickets', ticketKey, 'ticketKey') }),
    list_payments: ({ customer }) => ({
      payments: [...this.#shop.payments]
        .map(([payment_intent, payment]) => ({ payment_intent, ...payment }))
        .filter((payment) => customer === undefined || payment.customer === customer),
    }),
    create_refund: ({ payment_intent, amount }) => {
      const payment = this.#find('payments', payment_intent, 'payment_intent');
      const refund = amount ?? payment.amount - payment.refunded;
      if (!(refund > 0 && payment.refunded + refund <= payment.amount)) {
        throw new Error(`${payment.amount - payment.refunded} is left to refund, not ${refund}`);
      }
      payment.refunded += refund;
      return { payment_intent, refunded: refund };
    },
    replyToRequester: ({ ticketKey, body }) => {
      const ticket = this.#find('tickets', ticketKey, 'ticketKey');
      ticket.replies.push(body);
      return { ticketKey, sentTo: ticket.requester };
    },
    search_emails: ({ query = '' }) => {
      const words = String(query).toLowerCase().split(/\s+/);
      const text = (email) => `${email.from} ${email.subject}`.toLowerCase();
      return {
        emails: this.#shop.emails.filter((email) => words.some((word) => text(email).includes(word))),
      };
    },
    CRM_LOG_ACTIVITY: (activity) => ({ logged: this.#shop.activities.push(activity) }),
  };

  has(name) {
    return Object.hasOwn(this.#tools, name);
  }

  /** @throws Error when the tool cannot do what it is asked. */
  async call(name, input) {
    return this.#tools[name](input ?? {});
  }

  #find(kind, key, parameter) {
    const found = this.#shop[kind].get(key);
    if (found === undefined) throw new Error(`there is no ${parameter} ${key}`);
    return found;
  }
}
