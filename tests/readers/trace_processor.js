// Asks Perfetto's own trace processor, the one that ui.perfetto.dev runs in a browser.
//   node trace_processor.js FOLDER TRACE SQL...
// FOLDER holds engine_bundle.js and the .wasm files that belong to it. Prints a JSON list with one
// list of rows, each an object, per query; fails where the processor reports an error.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, ...queries] = process.argv.slice(2);

// ---- Protocol Buffers, as far as trace_processor.proto needs them ----------------------------

const VARINT = 0, FIXED64 = 1, BYTES = 2;

function varint(number) {
  const bytes = [];
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push(number % 128 | 128);
  return Buffer.from([...bytes, number]);
}

function field(number, value) {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8 + VARINT), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + BYTES), varint(bytes.length), bytes]);
}

class Reader {
  constructor(bytes) { this.bytes = Buffer.from(bytes); this.at = 0; }
  done() { return this.at >= this.bytes.length; }
  varint() {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }
  double() { this.at += 8; return this.bytes.readDoubleLE(this.at - 8); }
  data() {
    const length = Number(this.varint());
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  // [number, value] of every field.
  * fields() {
    while (!this.done()) {
      const key = Number(this.varint());
      const type = key % 8;
      if (type !== VARINT && type !== FIXED64 && type !== BYTES) throw Error(`wire type ${type}`);
      yield [key >> 3, type === VARINT ? this.varint() : type === BYTES ? this.data() : this.double()];
    }
  }
}

// ---- its remote calls ------------------------------------------------------------------------

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const FATAL_ERROR = 5, APPEND_DATA = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;
const NULL = 1, INTEGER = 2, FLOAT = 3, TEXT = 4;

let sequence = 0;
function request(method, ...args) {
  const call = Buffer.concat([field(1, ++sequence), field(2, method), ...args]);
  return Uint8Array.from(field(1, call));
}

function rowsOf(result, into) {
  for (const [number, value] of new Reader(result).fields()) {
    if (number === 1) into.columns.push(value.toString());
    if (number === 2) throw Error(value.toString());
    if (number === 3) readBatch(value, into);
  }
}

function readBatch(bytes, into) {
  let kinds = [], texts = [];
  const integers = [], floats = [];
  for (const [number, value] of new Reader(bytes).fields()) {
    if (number === 1) kinds = [...value];
    const numbers = new Reader(number === 2 || number === 3 ? value : []);
    while (!numbers.done()) {
      if (number === 2) integers.push(Number(numbers.varint()));
      else floats.push(numbers.double());
    }
    if (number === 5) texts = value.toString().split('\0');
  }
  for (const kind of kinds) {
    into.cells.push(kind === INTEGER ? integers.shift() : kind === FLOAT ? floats.shift() :
                    kind === TEXT ? texts.shift() : null);
  }
}

// ---- the processor in a context of its own, which it takes for a browser's worker --------------

function start(onReply) {
  const context = vm.createContext({
    console: {log() {}, warn() {}, error(text) { process.stderr.write(text + '\n'); }},
    TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, setInterval,
    clearInterval, Uint8Array, URL, crypto: globalThis.crypto,
  });
  vm.runInContext('self = globalThis; importScripts = () => {}; WorkerGlobalScope = class {};' +
                  'location = {href: "http://localhost/engine_bundle.js"};', context);
  const read = (url) => Uint8Array.from(fs.readFileSync(path.join(folder, path.basename(url))));
  context.fetch = async (url) => {
    const bytes = read(url);
    return {ok: true, status: 200, arrayBuffer: async () => bytes.buffer};
  };
  context.XMLHttpRequest = class {
    open(method, url) { this.url = url; }
    send() { this.status = 200; this.response = read(this.url).buffer; this.onload?.(); }
  };
  vm.runInContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), context);
  const port = {postMessage: onReply};
  context.self.onmessage({data: port});
  return port;
}

async function main() {
  const answers = [];
  let current = null;
  const port = start((bytes) => {
    for (const [, message] of new Reader(bytes).fields()) {
      for (const [number, value] of new Reader(message).fields()) {
        if (number === FATAL_ERROR) throw Error(value.toString());
        if (number === QUERY_RESULT) rowsOf(value, current);
        if (number !== APPEND_RESULT) continue;
        for (const [of, text] of new Reader(value).fields()) if (of === 2) throw Error(text.toString());
      }
    }
  });
  await new Promise(setImmediate);  // the processor is ready after what it has promised itself
  const call = (...args) => port.onmessage({data: request(...args)});
  call(APPEND, field(APPEND_DATA, fs.readFileSync(trace)));
  call(FINALIZE);
  for (const sql of queries) {
    current = {columns: [], cells: []};
    call(QUERY, field(QUERY_ARGS, field(1, sql)));
    const width = current.columns.length;
    const rows = [];
    for (let i = 0; i < current.cells.length; i += width) {
      rows.push(Object.fromEntries(current.columns.map((name, k) => [name, current.cells[i + k]])));
    }
    answers.push(rows);
  }
  process.stdout.write(JSON.stringify(answers) + '\n');
}

main().catch((error) => {
  process.stderr.write(`${error.message ?? error}\n`);
  process.exit(1);
});
