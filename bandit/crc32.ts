/** CRC-32 as in zlib and PNG (reflected polynomial 0xEDB88320), eight bytes at a time. */
export function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    crc ^= bytes[i] | (bytes[i + 1] << 8) | (bytes[i + 2] << 16) | (bytes[i + 3] << 24);
    crc =
      TABLES[7][crc & 255] ^
      TABLES[6][(crc >>> 8) & 255] ^
      TABLES[5][(crc >>> 16) & 255] ^
      TABLES[4][crc >>> 24] ^
      TABLES[3][bytes[i + 4]] ^
      TABLES[2][bytes[i + 5]] ^
      TABLES[1][bytes[i + 6]] ^
      TABLES[0][bytes[i + 7]];
  }
  for (; i < bytes.length; i++) crc = TABLES[0][(crc ^ bytes[i]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** TABLES[k][byte]: what this byte, k bytes before the end, does to the remainder. */
const TABLES = makeTables();

function makeTables(): Int32Array[] {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256));
  for (let byte = 0; byte < 256; byte++) {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit++)
      remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb88320 : remainder >>> 1;
    tables[0][byte] = remainder;
  }
  for (let k = 1; k < 8; k++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = tables[k - 1][byte];
      tables[k][byte] = tables[0][before & 255] ^ (before >>> 8);
    }
  }
  return tables;
}
