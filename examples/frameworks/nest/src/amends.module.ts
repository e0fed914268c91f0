/** Amends as a module: sagas are providers, and the worker starts and stops with the application. */
import {
  Module,
  type DynamicModule,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Provider,
  type Type,
} from "@nestjs/common";
import { Amends, type AnySaga, type Worker } from "amends";
import { postgres } from "amends/postgres";
import { logger } from "./logger.ts";

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
export class AmendsModule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #worker: Worker;

  constructor(private readonly amends: Amends) {
    this.#worker = amends.worker();
  }

  static register({ url, sagas, providers }: AmendsModuleOptions): DynamicModule {
    const made = {
      provide: Amends,
      inject: [...sagas],
      useFactory: (...given: SagaProvider[]) =>
        new Amends({ database: postgres(url), sagas: given.map(({ saga }) => saga), logger }),
    };
    return {
      module: AmendsModule,
      global: true,
      providers: [...providers, ...sagas, made],
      exports: [Amends, AmendsModule, ...sagas],
    };
  }

  async isReady(): Promise<boolean> {
    return (await this.#worker.ready()).ready;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.amends.migrate();
    await this.#worker.start();
  }

  /** Calls under way finish, other work is left to the next worker. Every module still has its connections. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#worker.stop();
  }

  /** The server is closed by now: no request needs Amends any more. */
  async onApplicationShutdown(): Promise<void> {
    await this.amends.close();
  }
}
