import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  // IPv4 addresses inside others may be private: compatible ones (with ::1), translated ones, 6to4.
  ['::', 96],
  ['64:ff9b::', 96],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv6');
}

/** True for IP addresses that lead into this machine or its own network, IPv4 written as IPv6 included. */
export function isPrivateAddress(address: string): boolean {
  // BlockList compares IPv4-mapped IPv6 addresses with the rules for IPv4 by itself.
  return PRIVATE.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Whether the host of a URL is, or has among its addresses, one of this machine or its own network. A name that cannot be looked up is not. */
export async function isPrivateHost(url: string): Promise<boolean> {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.some(({ address }) => isPrivateAddress(address));
}
