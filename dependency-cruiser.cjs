module.exports = {
  forbidden: [
    {
      name: 'headless-never-reaches-electron',
      severity: 'error',
      comment: 'control plane and agent must start under plain Node',
      from: { path: '^src/(main/control|agent|ipc)/' },
      to: { path: '(^electron$|^electron/|node_modules/electron/)', reachable: true },
    },
    {
      name: 'control-not-to-shell',
      severity: 'error',
      from: { path: '^src/main/control/' },
      to: { path: '^src/main/(?!control/)' },
    },
    {
      name: 'shell-only-by-front-door',
      severity: 'error',
      from: { path: '^src/main/(shell/|cli/|index\\.ts|serve\\.ts)' },
      to: { path: '^src/main/control/', pathNot: '^src/main/control/(control-plane|ports)\\.ts$' },
    },
    { name: 'nothing-imports-tests', severity: 'error', from: { path: '^src/' }, to: { path: '^tests/' } },
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
