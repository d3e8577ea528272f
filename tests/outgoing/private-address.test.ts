import { expect, it } from 'vitest';
import { isPrivateAddress } from '../../src/outgoing/private-address.ts';

it.each([
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  'fe80::1',
  'fd00::1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '::7f00:1',
  '::10.0.0.1',
])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));

it.each([
  '1.1.1.1',
  '172.32.0.1',
  '172.15.0.1',
  '192.167.1.1',
  '8.8.8.8',
  '2606:4700::1111',
  '::ffff:1.1.1.1',
])('%s is not', (address) => expect(isPrivateAddress(address)).toBe(false));
