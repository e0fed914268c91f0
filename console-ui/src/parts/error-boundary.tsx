/** Keeps an exception in one page from taking the whole console down: the rail and the other pages stay usable. */
import { Component, type ComponentChildren, type JSX } from "preact";
import { Empty } from "./empty.tsx";
import { Icon } from "./icon.tsx";
import { PageHead } from "./page-head.tsx";

interface Props {
  readonly children: ComponentChildren;
}

interface State {
  readonly error: unknown;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static override getDerivedStateFromError(error: unknown): State {
    return { error: error ?? new Error("unknown error") };
  }

  override render(): JSX.Element {
    const { error } = this.state;
    if (error === undefined) return <>{this.props.children}</>;
    return (
      <div class="page">
        <PageHead title="Page error" />
        <div class="card">
          <Empty icon="alert" tone="rose" title="This page could not be drawn">
            <p>The other pages still work. The browser’s developer console has the details.</p>
            <p class="mono dim">
              {error instanceof Error ? `${error.name}: ${error.message}` : "unknown error"}
            </p>
            <button type="button" class="btn" onClick={() => this.setState({ error: undefined })}>
              <Icon name="retry" size={14} />
              Try again
            </button>
          </Empty>
        </div>
      </div>
    );
  }
}
