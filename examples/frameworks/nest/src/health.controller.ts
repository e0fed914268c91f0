import { Controller, Get, ServiceUnavailableException } from "@nestjs/common";
import { AmendsModule } from "./amends.module.ts";
import { Database } from "./database.module.ts";

@Controller("health")
export class HealthController {
  constructor(
    private readonly database: Database,
    private readonly module: AmendsModule,
  ) {}

  @Get()
  async check(): Promise<{ ready: true }> {
    const isReachable = await this.database.query("select 1").then(
      () => true,
      () => false,
    );
    if (!this.module.isWorking || !isReachable) throw new ServiceUnavailableException({ ready: false });
    return { ready: true };
  }
}
