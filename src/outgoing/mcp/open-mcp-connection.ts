import type { McpAddress, McpConnection, McpConnectionOptions } from './mcp-connection.ts';

/** Connects to a server of either era. @throws McpError */
export async function openMcpConnection(
  address: McpAddress,
  options: McpConnectionOptions,
): Promise<McpConnection> {
  // The SDK takes a quarter of a second to load, which only those should wait for who connect.
  const { openSdkConnection } = await import('./sdk-connection.ts');
  return openSdkConnection(address, options);
}
