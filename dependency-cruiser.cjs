const ELECTRON = '(^electron$|^electron/|node_modules/electron/)'

module.exports = {
  forbidden: [
    {
      name: 'headless-never-reaches-electron',
      severity: 'error',
      comment: 'control plane, command line and agent must start under plain Node',
      from: { path: '^src/(main/(control|cli|serving)/|main/serve\\.ts$|agent/|ipc/)' },
      to: { path: ELECTRON, reachable: true },
    },
    {
      name: 'electron-only-in-the-shell',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/main/(shell/|index\\.ts$)' },
      to: { path: ELECTRON },
    },
    {
      name: 'control-not-to-shell',
      severity: 'error',
      from: { path: '^src/main/control/' },
      // leaves that command line and control plane share
      to: { path: '^src/main/(?!control/|(bounded-file|file-words)\\.ts$)' },
    },
    {
      name: 'control-only-by-the-front-door',
      severity: 'error',
      from: { path: '^src/main/(?!control/)' },
      to: {
        path: '^src/main/control/',
        pathNot: '^src/main/control/(control-plane|ports|node-ports|restore-store)\\.ts$',
      },
    },
    {
      name: 'src-stands-alone',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(tests|scripts)/' },
    },
    {
      name: 'ipc-is-pure',
      severity: 'error',
      from: { path: '^src/ipc/' },
      to: { pathNot: '^src/ipc/|node_modules/(zod|@bufbuild|@connectrpc/connect)/' },
    },
    { name: 'agent-only-ipc', severity: 'error', from: { path: '^src/agent/' }, to: { path: '^src/(main|renderer)/' } },
    {
      name: 'renderer-only-ipc',
      severity: 'error',
      from: { path: '^src/renderer/' },
      to: { path: '^src/(main|agent)/' },
    },
    {
      name: 'main-not-to-others',
      severity: 'error',
      from: { path: '^src/main/' },
      to: { path: '^src/(agent|renderer)/' },
    },
    { name: 'not-to-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
}
