/** Amends as a module: sagas are providers, and the worker starts and stops with the application. */
import {
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
  type Type,
} from "@nestjs/common";
import { Amends, type AnySaga, type Worker } from "amends";
import { postgres } from "amends/postgres";

/** A provider with a saga: its acts use what Nest injects into it. */
export interface SagaProvider {
  readonly saga: AnySaga;
}

export interface AmendsModuleOptions {
  readonly url: string;
  readonly sagas: readonly Type<SagaProvider>[];
  /** What the sagas depend on, unless a global module has it. */
  readonly providers: readonly Provider[];
}

@Module({})
export class AmendsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #worker: Worker;

  constructor(private readonly amends: Amends) {
    this.#worker = amends.worker();
  }

  static register({ url, sagas, providers }: AmendsModuleOptions): DynamicModule {
    const made = {
      provide: Amends,
      inject: [...sagas],
      useFactory: (...given: SagaProvider[]) =>
        new Amends({ database: postgres(url), sagas: given.map(({ saga }) => saga), logger: console }),
    };
    return {
      module: AmendsModule,
      global: true,
      providers: [...providers, ...sagas, made],
      exports: [Amends, AmendsModule, ...sagas],
    };
  }

  get isWorking(): boolean {
    return this.#worker.running;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.amends.migrate();
    await this.#worker.start();
  }

  /** The server is closed by now. Calls under way finish, other work is left to the next worker. */
  async onApplicationShutdown(): Promise<void> {
    await this.amends.close();
  }
}
