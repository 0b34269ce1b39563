/** Offers `text` as a file named after `title`. */
export function save(title: string, extension: 'svg' | 'csv', text: string): void {
  const link = document.createElement('a');
  const type = extension === 'svg' ? 'image/svg+xml' : 'text/csv';
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `${fileName(title)}.${extension}`;
  link.click();
  // The browser reads the blob after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function fileName(title: string): string {
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  return name.slice(0, 60) || 'chart';
}

/** Returns one line of CSV. */
export function csvLine(cells: (string | number | undefined)[]): string {
  const quoted = (cell: string | number | undefined) => {
    const text = cell === undefined || Number.isNaN(cell) ? '' : String(cell);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${cells.map(quoted).join(',')}\n`;
}
